require "spec.adapters.contract"("copas", require "spec.support.loops.copas")
