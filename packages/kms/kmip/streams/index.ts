/**
 * Operations that come in parts (KMIP 2.1 §6.1.16: InitIndicator, CorrelationValue, FinalIndicator). A part lies sealed
 * in the database until the last one came, because workers and nodes keep nothing: see the decision record.
 */
export {
  joined,
  maximumParts,
  maximumStreams,
  requireRoom,
  type Stream,
  stageEnd,
  stagePart,
  streamLifetime,
  streamOf,
} from './stream.ts'
