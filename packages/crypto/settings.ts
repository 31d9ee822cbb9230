// Entry for settings and their checks. It loads no primitive.

export { optionalAlgorithms } from './algorithms/algorithms.ts'
export { keyTypes } from './algorithms/key-types.ts'
export { algorithmPolicy, type PolicyFacts, policyLists } from './algorithms/policy.ts'
