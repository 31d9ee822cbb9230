export {
  type AccessKeyRow,
  insertAccessKey,
  listAccessKeys,
  maxAccessKeys,
  removeAccessKey,
  useBeyond,
} from './access-key-store.ts'
export {
  type AccessKey,
  type AccessKeys,
  createAccessKeys,
  newAccessKey,
  regionProblem,
  uriPrefixProblem,
} from './access-keys.ts'
export { type AccessKeyEnd, endOfAccessKey } from './maker.ts'
export {
  algorithm,
  amzDate,
  canonicalRequest,
  readSignatureHeader,
  type SignatureHeader,
  sameSignature,
  signCanonicalRequest,
  signingKey,
  UnsentHeader,
} from './sigv4.ts'
export { granteeInStore, readStorePath, type XksStore } from './store-names.ts'
