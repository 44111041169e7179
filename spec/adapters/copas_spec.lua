-- copas 1: the contract, and its peculiarities.

local matrix = require "spec.adapters.matrix"
if not matrix.runs "copas" then return end

local loop = require "spec.support.loops.copas"

assert(not require "copas".pauseforever, "this is no copas 1")
require "spec.adapters.contract"("copas", loop)
require "spec.adapters.copas_pcall"("copas", loop)
