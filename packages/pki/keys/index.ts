/**
 * Asymmetric keys in PKCS#8, SEC1, PKCS#1 and SubjectPublicKeyInfo, converted to one canonical form and back. The
 * numbers of every key are checked when it is read.
 */
export { privateFromPkcs8, publicFromSpki, requireLoadable, requireOwnPublicHalf } from './asymmetric.ts'
export { type ByteKeyAlgorithm, type ByteKeyFamily, byteKeyFamilies } from './byte-key-families.ts'
export { bytePrivateFromRaw, bytePublicFromRaw, toRawKey } from './byte-keys.ts'
export { type Curve, curveByName } from './curves.ts'
export {
  ecPoint,
  ecPrivateFromScalar,
  ecPrivateFromSec1,
  ecPublicFromPoint,
  ecScalar,
  ecToSec1,
  type PointForm,
  requireUsable,
} from './ec.ts'
export { type Domain, type DomainNumber, finiteFieldFromNumbers, finiteFieldNumbers } from './finite-field.ts'
export type { KeyAlgorithm, KeyPolicy, ParsedKey } from './parsed-key.ts'
export { buildPkcs8, parsePkcs8, parseSpki } from './pkcs8.ts'
export {
  completeRsaNumbers,
  readRsaNumbers,
  rsaPrivateFromNumbers,
  rsaPrivateFromPkcs1,
  rsaPublicFromNumbers,
  rsaPublicFromPkcs1,
  rsaToPkcs1,
} from './rsa.ts'
export { checkRsaNumbers, type RsaNumbers, requirePrimes, rsaMembers } from './rsa-numbers.ts'
export { type PssParameters, pssAlgorithm, pssPrivateFromPkcs8, pssPublicFromSpki } from './rsa-pss.ts'
