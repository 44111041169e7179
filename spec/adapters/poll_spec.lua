-- A loop of the user's own: the contract.

require "spec.adapters.contract"("poll", require "spec.support.loops.poll")
