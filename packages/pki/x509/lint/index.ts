/** Finds defects of a certificate, each with the clause of the standard. */
export type { Rule, Severity } from './facts.ts'
export { type Finding, lintCertificate, lintRules, lintWritten } from './lint.ts'
