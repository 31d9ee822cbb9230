export { recordRecoveries } from './record-recoveries.ts'
export { type AdminRecovery, recoverAdmin } from './recover.ts'
export { isAnyRecovery } from './recovery-store.ts'
