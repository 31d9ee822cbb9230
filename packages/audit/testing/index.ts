export type { AuditLogOptions } from '../log.ts'
export type { PreparedCommits } from '../prepared-commits.ts'
