import { decodeMessage, judgeResponse } from '../response/judge.ts'
import { SamlRefused } from '../response/refused.ts'
import type { Job, Verdict } from './jobs.ts'

/** Judges the form field of a response. Throws only what is a fault of the program. */
export function verdictOn({ field, expected }: Job): Verdict {
  try {
    return { assertion: judgeResponse(decodeMessage(formDecoded(field)), expected) }
  } catch (error) {
    if (!(error instanceof SamlRefused)) throw error
    return { refused: { check: error.check, sentence: error.message } }
  }
}

/** `application/x-www-form-urlencoded` */
function formDecoded(field: Uint8Array): string {
  try {
    return decodeURIComponent(Buffer.from(field).toString('latin1').replaceAll('+', ' '))
  } catch {
    // It is no base64 either.
    return '%'
  }
}
