require "spec.adapters.contract"("luv", require "spec.support.loops.luv")
