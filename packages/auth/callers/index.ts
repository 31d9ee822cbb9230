export { anyAdmin, anyCaller, anySession, realmAdmin, superAdmin } from './access.ts'
export {
  findMachineToken,
  type MachineCaller,
  type Powers,
  requirePowers,
  requireSession,
  type SessionCaller,
} from './callers.ts'
