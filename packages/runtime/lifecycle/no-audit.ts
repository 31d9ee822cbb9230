import type { AuditTrail } from '@warder/audit'

/** `audit_enabled = false`: nothing is recorded, and nothing waits for a record. */
export const noAudit: AuditTrail = {
  mode: 'continue',
  record() {},
  async recordDurably() {},
  async flush() {},
}
