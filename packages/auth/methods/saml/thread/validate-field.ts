import { SamlRefused } from '../response/saml-refused.ts'
import { decodeMessage, validateResponse } from '../response/validate-response.ts'
import type { Job, ValidationResult } from './jobs.ts'

/** Judges the form field of a response. Throws only what is a fault of the program. */
export function validateField({ field, expected }: Job): ValidationResult {
  try {
    return { assertion: validateResponse(decodeMessage(decodeFormField(field)), expected) }
  } catch (error) {
    if (!(error instanceof SamlRefused)) throw error
    return { refused: { check: error.check, sentence: error.message } }
  }
}

/** `application/x-www-form-urlencoded` */
function decodeFormField(field: Uint8Array): string {
  try {
    return decodeURIComponent(Buffer.from(field).toString('latin1').replaceAll('+', ' '))
  } catch {
    // It is no base64 either.
    return '%'
  }
}
