import { PkiError } from '../../error.ts'
import { type ParsedCertificate, parseCertificate, parseCertificateFields } from '../certificate.ts'
import { authorityRules } from './authorities.ts'
import { type Facts, type Rule, readFacts, type Severity } from './facts.ts'
import { nameRules } from './names.ts'
import { structureRules } from './structure.ts'
import { usageRules } from './usages.ts'

/** A defect of a certificate. */
export interface Finding {
  readonly rule: string
  /** Clause of the standard. */
  readonly clause: string
  readonly severity: Severity
  readonly sentence: string
}

export const lintRules: readonly Rule[] = [...structureRules, ...nameRules, ...usageRules, ...authorityRules]

/**
 * Checks a certificate, DER, against the standards. Signatures, issuers and the current time are checked by
 * `validatePath`. An unreadable certificate is one finding, `unreadable`.
 */
export function lintCertificate(der: Uint8Array): readonly Finding[] {
  return lint(() => parseCertificate(der))
}

/** The same for a certificate before it is signed: OpenSSL reads it afterwards. */
export function lintWritten(der: Uint8Array): readonly Finding[] {
  return lint(() => parseCertificateFields(der))
}

function lint(read: () => ParsedCertificate): readonly Finding[] {
  let facts: Facts
  try {
    facts = readFacts(read())
  } catch (error) {
    return [unreadable(error)]
  }
  return lintRules.flatMap((rule) => {
    try {
      const sentence = rule.check(facts)
      return sentence === undefined ? [] : [finding(rule, sentence)]
    } catch (error) {
      return [unreadable(error)]
    }
  })
}

function finding({ name, clause, severity }: Rule, sentence: string): Finding {
  return { rule: name, clause, severity, sentence }
}

function unreadable(error: unknown): Finding {
  if (!(error instanceof PkiError)) throw error
  return { rule: 'unreadable', clause: 'RFC 5280 §4.1', severity: 'error', sentence: error.message }
}
