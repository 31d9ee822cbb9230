import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { failure, memoizeFor } from '@warder/base'
import { defineOperation, get, type Operation, rawReply } from '@warder/server'
import type { RuntimeConfig } from './launch.ts'
import type { ServiceEnvironment } from './service.ts'
import { hasOwnCertificate } from './tls-materials.ts'

/** The authority that issued the certificate of a service, if that is the local one of its home. */
export interface LocalAuthority {
  /** The certificate, PEM. */
  readonly pem: string
  /** SHA-256 of the certificate, as OpenSSL and browsers write it: `AB:CD:…`. */
  readonly sha256: string
}

export type LocalAuthorityReader = () => Promise<LocalAuthority | undefined>

const rereadMs = 10_000

/** Reads the certificate again after renewals. undefined: browsers need not trust a local authority for this service. */
export function createLocalAuthorityReader({
  config,
  home,
}: Pick<ServiceEnvironment<object>, 'config' | 'home'>): LocalAuthorityReader {
  const tls = config as RuntimeConfig
  if (tls.plaintext_http || hasOwnCertificate(tls)) return async () => undefined
  const file = join(home, 'tls', 'ca.crt')
  return memoizeFor(
    async () => {
      const text = await readFile(file).catch(allowMissing)
      if (text === undefined) return undefined
      // Encoded again, so that nothing else in the file is sent.
      const certificate = new X509Certificate(text)
      return { pem: certificate.toString(), sha256: certificate.fingerprint256 }
    },
    rereadMs,
    () => performance.now(),
  )
}

function allowMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

const pemType = 'application/x-pem-file'

/** `GET /ui/authority.crt`: browsers cannot verify the service before they trust it, so its users compare the SHA-256. */
export function authorityOperation<
  Services extends { readonly localAuthority: LocalAuthorityReader },
>(): Operation<Services> {
  return defineOperation<Services>()({
    name: 'ui.authority',
    reach: ['reveal public'],
    route: get('/ui/authority.crt'),
    summary: 'Certificate of the local authority (PEM), for browsers and programs that should trust it',
    tag: 'Console',
    access: { name: 'public', public: true },
    replyContentType: pemType,
    errors: { 404: 'The certificate of the service is not of a local authority.' },
    audited: false,
    async act(_input, { services }) {
      const authority = await services.localAuthority()
      if (authority === undefined)
        throw failure(
          'not_found',
          'The certificate of this service is not of a local authority: clients trust the authority that issued it.',
        )
      const headers = { 'Content-Disposition': 'attachment; filename="warder-authority.crt"' }
      return rawReply({ raw: authority.pem, contentType: pemType, headers })
    },
  })
}
