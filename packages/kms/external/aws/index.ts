export {
  type AccessKeyRow,
  insertAccessKey,
  listAccessKeys,
  mostAccessKeys,
  removeAccessKey,
} from './access-key-store.ts'
export {
  type AccessKey,
  type AccessKeys,
  createAccessKeys,
  newAccessKey,
  regionProblem,
  uriPrefixProblem,
} from './access-keys.ts'
export {
  algorithm,
  amzDate,
  canonicalRequest,
  readSignatureHeader,
  type SignatureHeader,
  sameSignature,
  signatureOf,
  signingKey,
  UnsentHeader,
} from './sigv4.ts'
