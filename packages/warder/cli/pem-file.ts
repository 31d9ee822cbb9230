import { readFileSync } from 'node:fs'
import { type PemLabel, pemText } from '@warder/pki'
import { toFileRefused } from './refused.ts'

/** Reads a PEM or DER file. @returns PEM @throws StartupError */
export function readPemFile(file: string, label: PemLabel): string {
  try {
    return pemText(readFileSync(file), label)
  } catch (error) {
    throw toFileRefused(error, file)
  }
}
