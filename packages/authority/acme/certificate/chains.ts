import { parseCertificate } from '@warder/pki'
import type { Database } from '@warder/storage'
import { listAuthorities, type StoredAuthority } from '../../register/authority-store.ts'

/**
 * The chains of a certificate, the default chain first (RFC 8555 §7.4.2): the issuer and those above it without the
 * root, then the same with the root, then those of other certificates that the issuer has (cross-certificates).
 * @returns DER of the certificates above, the issuer first
 */
export async function buildChains(
  db: Database,
  authority: StoredAuthority,
): Promise<readonly (readonly Uint8Array[])[]> {
  const others = await listAuthorities(db, authority.issuer)
  const all = [authority, ...others.filter(({ id }) => id !== authority.id)].flatMap(
    ({ certificate, chain }) => {
      const whole = [certificate, ...chain]
      const short = whole.filter((each, index) => index === 0 || !isRoot(each))
      return short.length === whole.length ? [whole] : [short, whole]
    },
  )
  const seen = new Set<string>()
  return all.filter((chain) => {
    const key = chain.map((each) => Buffer.from(each).toString('base64')).join()
    return !seen.has(key) && seen.add(key)
  })
}

function isRoot(der: Uint8Array): boolean {
  const { subject, issuer } = parseCertificate(der)
  return Buffer.compare(subject, issuer) === 0
}
