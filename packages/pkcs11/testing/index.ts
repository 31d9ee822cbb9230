export { createSofthsmToken, missingSofthsm, missingTools, type SofthsmToken } from './softhsm.ts'
