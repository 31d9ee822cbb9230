/** Data sealed for a policy and opened with a user key, framed as the deployed service frames it. */
export * from './bulk.ts'
export * from './sealing.ts'
