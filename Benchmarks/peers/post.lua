-- For wrk: posts the file BENCH_BODY repeatedly, and ends with one line that the harness reads: the requests, the microseconds, the
-- number of answers that were not 2xx and of connection errors, and the 50th and 99th percentile in microseconds.
local file = assert(io.open(os.getenv("BENCH_BODY"), "rb"))
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.body = file:read("*a")
file:close()

function done(summary, latency, requests)
   local errors = summary.errors
   local bad = errors.status + errors.connect + errors.read + errors.write + errors.timeout
   print(string.format("figures %d %d %d %d %d", summary.requests, summary.duration, bad, latency:percentile(50), latency:percentile(99)))
end
