export type { KeyPart, SplitKeyMethod } from './key-part.ts'
export {
  type JoinRequest,
  joinParts,
  maximumParts,
  type SplitKey,
  type SplitRequest,
  splitSecret,
} from './split-key.ts'
