// Uses up the link with which the page was opened. The code is in the fragment, which no browser sends and no log keeps.

const words = document.getElementById("words");
const code = location.hash.slice(1);

async function enter() {
  history.replaceState(null, "", location.pathname);
  const answer = await fetch("enter", {
    method: "POST",
    body: new URLSearchParams({ code }),
  }).catch(() => null);
  if (answer?.ok) {
    location.replace(location.pathname);
  } else if (answer) {
    words.textContent = "This link is not valid, or no longer: it opens the page once, within two minutes. "
      + "Run switchyard page on the machine of the router again.";
  } else {
    words.textContent = "The router does not answer.";
  }
}

if (code) enter();
