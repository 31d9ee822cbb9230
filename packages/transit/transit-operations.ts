import type { Operation } from '@warder/server'
import { encryptionRows } from './encryption.ts'
import { keyRows } from './keys.ts'
import { macRows } from './mac.ts'
import type { TransitServices } from './services.ts'
import { signatureRows } from './signature.ts'
import { health, toolRows } from './tools.ts'

/** A subset of Vault's transit engine, at its usual mount, and `/v1/sys/health`. */
export function transitOperations(baseUrl: string): readonly Operation<TransitServices>[] {
  return [...keyRows, ...encryptionRows, ...signatureRows, ...macRows, ...toolRows, health(baseUrl)]
}
