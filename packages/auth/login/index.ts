export { readCredential } from './authorization.ts'
export {
  firstProof,
  type LoginMethod,
  type MethodFacts,
  type Proof,
  type Proven,
  type SecondProof,
  type SecondProofServices,
} from './method.ts'
export { loginOperations } from './operations.ts'
export { credentialChanged, LoginRefused, methodNotEnabled, unknownRealm } from './refusal.ts'
export { proveSecond } from './second-proofs.ts'
export type { LoginLimitServices, LoginServices } from './services.ts'
export { auditRefusal, forgetFailures, takeLogin, throttleLogin } from './throttle-login.ts'
