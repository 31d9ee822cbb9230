/** Finds defects of a certificate, with the clause of the standard for each. */
export type { Rule, Severity } from './facts.ts'
export { type Finding, lintCertificate, lintRules, lintWritten } from './lint.ts'
