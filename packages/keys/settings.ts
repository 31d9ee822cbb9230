// Entry for settings and their checks. It loads neither stores nor cryptography.

export { foldEmail, principalNamed } from './access/external-names.ts'
export {
  type ApprovalSettings,
  approvable,
  type DestructionSettings,
  daysProblem,
  defaultCredentialWaitSeconds,
  maxDays,
  type OfficerSettings,
  personalMethods,
  readDaysBy,
} from './access/settings.ts'
export { createRotationPolicy, readRotationRule } from './objects/rotation-policy.ts'
