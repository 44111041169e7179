-- luv: the contract; its known defects (timers that count from an old time, a crash at the end of the process, errors in
-- callbacks that end it) are met there.

require "spec.adapters.contract"("luv", require "spec.support.loops.luv")
