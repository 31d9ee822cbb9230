import { SamlRefused } from '../response/saml-refused.ts'
import { decodeMessage, validateResponse } from '../response/validate-response.ts'
import type { Job, ValidationResult } from './jobs.ts'

/** Validates the form field of a response. Throws only on programming errors. */
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
    // This is not valid base64 either.
    return '%'
  }
}
