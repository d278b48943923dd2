// The files of the page. The compiler reads them from the folder `files`.
#include "cpage.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char door_html[] = {
#embed "files/door.html"
};
static const unsigned char door_js[] = {
#embed "files/door.js"
};
static const unsigned char page_css[] = {
#embed "files/page.css"
};
static const unsigned char page_html[] = {
#embed "files/page.html"
};
static const unsigned char page_js[] = {
#embed "files/page.js"
};
static const unsigned char asking_js[] = {
#embed "files/asking.js"
};
static const unsigned char letters_js[] = {
#embed "files/letters.js"
};
static const unsigned char tap_js[] = {
#embed "files/tap.js"
};
static const unsigned char draft_js[] = {
#embed "files/draft.js"
};
static const unsigned char schema_js[] = {
#embed "files/schema.js"
};
static const unsigned char show_js[] = {
#embed "files/show.js"
};
static const unsigned char flow_js[] = {
#embed "files/flow.js"
};
static const unsigned char lanes_js[] = {
#embed "files/lanes.js"
};

static const struct cpage_file files[] = {
    {"door.html", door_html, sizeof door_html},
    {"door.js", door_js, sizeof door_js},
    {"page.css", page_css, sizeof page_css},
    {"page.html", page_html, sizeof page_html},
    {"page.js", page_js, sizeof page_js},
    {"asking.js", asking_js, sizeof asking_js},
    {"letters.js", letters_js, sizeof letters_js},
    {"tap.js", tap_js, sizeof tap_js},
    {"draft.js", draft_js, sizeof draft_js},
    {"schema.js", schema_js, sizeof schema_js},
    {"show.js", show_js, sizeof show_js},
    {"flow.js", flow_js, sizeof flow_js},
    {"lanes.js", lanes_js, sizeof lanes_js},
};

int cpage_count(void) { return (int)(sizeof files / sizeof files[0]); }

struct cpage_file cpage_file(int number) { return files[number]; }
