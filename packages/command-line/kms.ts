export { logInOnce, readAccount } from './kms/account.ts'
export { type KmsCommandParts, kmsCommand } from './kms/command.ts'
export { keyAlgorithms, keyRights, rightGroups } from './kms/declared.gen.ts'
export { formatClientError, toUserError, withKeyErrors } from './kms/refusal.ts'
export {
  describeContext,
  endpointOptions,
  findServiceEndpoints,
  readEndpointOptions,
  type ServiceEndpoints,
} from './kms/service-endpoints.ts'
export { type KmsContext, type KmsVerb, keyOption, kmsVerb, readKid } from './kms/verb.ts'
