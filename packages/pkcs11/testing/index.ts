export { buildFaulty, missingFaulty } from './faulty.ts'
export { createSofthsmToken, missingSofthsm, missingTools, type SofthsmToken } from './softhsm.ts'
