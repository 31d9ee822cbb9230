import type { AuditFields } from './types.ts'

/** Merges the audit fields of a request: later values replace earlier ones, details are added. */
export function mergeAuditFields(before: AuditFields | undefined, more: AuditFields): AuditFields {
  if (before === undefined) return more
  if (before.details === undefined || more.details === undefined) return { ...before, ...more }
  return { ...before, ...more, details: { ...before.details, ...more.details } }
}
