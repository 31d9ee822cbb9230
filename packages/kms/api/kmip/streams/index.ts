/**
 * Operations that come in parts (KMIP 2.1 §6.1.17: InitIndicator, CorrelationValue, FinalIndicator). A part is stored
 * sealed in the database until the last one arrives, so that every worker and every node can process the next part: see
 * the decision record.
 */
export { findFirstRequest, keep, type RunningCipher, resumeCipher } from './running-ciphers.ts'
export {
  joinParts,
  objectId,
  requestsBefore,
  requireNoDigest,
  requireSameParameters,
  requireStream,
  type StagedPart,
  stageEnd,
  stagePart,
  streamLifetime,
} from './stream.ts'
export type { StreamRow } from './stream-store.ts'
