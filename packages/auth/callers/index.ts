export { anyAdmin, anySession, everybody, realmAdmin, superAdmin } from './access.ts'
export {
  type MachineCaller,
  machineOf,
  type Powers,
  powersOfCaller,
  type SessionCaller,
  sessionOf,
} from './callers.ts'
