export { buildFaulty, missingFaulty } from './faulty.ts'
export {
  createProcessToken,
  createSofthsmToken,
  missingSofthsm,
  missingTools,
  type SofthsmToken,
} from './softhsm.ts'
