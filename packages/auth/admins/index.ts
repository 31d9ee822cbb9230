export { adminsBehind, adminsNamingSaml, countSuperAdmins, findSuperCredentials } from './admin-store.ts'
export { adminOperations } from './operations.ts'
export { findPowers } from './powers.ts'
