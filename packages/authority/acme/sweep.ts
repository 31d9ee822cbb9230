import type { Change } from '@warder/storage'
import { sweepNonces } from './protocol/nonce-store.ts'
import { sweepCertificates } from './stored/certificate-store.ts'
import { sweepCredentials } from './stored/credential-store.ts'
import { sweepOver } from './stored/order-store.ts'

/** Deletes expired nonces, orders, unused credentials and certificates. */
export function sweepAcme(now: number): Change[] {
  return [sweepNonces(now), ...sweepOver(now), sweepCredentials(now), sweepCertificates(now)]
}
