-- luv: the contract. It also meets luv's known defects: timers that count from an old time, a crash at the end of the
-- process, errors in callbacks that end the process.

require "spec.adapters.contract"("luv", require "spec.support.loops.luv")
