import { readKeyUsage } from '@warder/pki'
import type { StoredAuthority } from '../register/authority-store.ts'
import { parseOnce } from '../register/parsed.ts'

/**
 * Whether relying parties believe a revocation list of this authority: its certificate has the key usage cRLSign, or none
 * at all (RFC 5280 §6.3.3 f).
 */
export function maySignCrl({ certificate }: Pick<StoredAuthority, 'certificate'>): boolean {
  return readKeyUsage(parseOnce(certificate).extensions)?.includes('cRLSign') !== false
}
