require "spec.adapters.contract"("cqueues", require "spec.support.loops.cqueues")
