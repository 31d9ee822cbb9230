import { createPrivateKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { clientCertificates } from '@warder/identity/testing'
import { createKmipEngine, createKmipSocket, kmipOperations } from '@warder/kmip-server'
import { startKms } from '@warder/kms/testing'
import { issueCertificate, newTicketKeys, tlsProfile } from '@warder/server'
import type { Issuer } from '@warder/server/testing'
import type { Database } from '@warder/storage'
import type { Endpoint } from 'warder/testing'

/** A server to run cases against. */
export interface TestServer extends AsyncDisposable {
  /** The server as a client with this name sees it. */
  as(name: string): Promise<Endpoint>
  /** Families of cases that may run concurrently: one family if all are the same client. */
  readonly familiesAtOnce: number
}

interface OwnServerOptions {
  readonly db?: Database
  readonly draft?: boolean
}

const day = 24 * 60 * 60 * 1000

/**
 * A key management service in this process with an empty database: HTTPS and the KMIP socket on free ports.
 * @param db another database than SQLite in a folder of its own; the caller closes it
 * @param draft true: KMIP 3.0 is served, too. Its cases send a user and a password, which the server ignores in favour
 *   of the client certificate.
 */
export async function startOwnServer({ db, draft = false }: OwnServerOptions = {}): Promise<TestServer> {
  const kms = await startKms({
    clientCertificates: true,
    tokens: false,
    ...(db !== undefined && { db }),
    config: { kmip_draft_3_0: draft, kmip_ignore_header_password: draft },
  })
  const { log, metrics, clock, home } = kms.environment
  const tls = (name: string): string => join(home, 'tls', name)
  const socket = createKmipSocket({
    engine: createKmipEngine({ services: kms.services, operations: kmipOperations, log, metrics }),
    authenticate: clientCertificates(clock),
    audit: kms.environment.audit,
    tls: tlsProfile({
      certFile: tls('kms.crt'),
      keyFile: tls('kms.key'),
      second: {
        certFile: tls('kms-rsa.crt'),
        keyFile: tls('kms-rsa.key'),
        certSetting: 'socket_server_rsa_cert_file',
        keySetting: 'socket_server_rsa_key_file',
      },
      clientsCaFile: tls('ca.crt'),
      requireClientCertificate: true,
      ticketKeys: newTicketKeys(),
    }),
    clock,
    log,
    metrics,
  })
  const { port } = await socket.listen({ host: '127.0.0.1', port: 0 })
  const issuer: Issuer = { certificatePem: kms.ca, privateKey: createPrivateKey(readFileSync(tls('ca.key'))) }
  const known = new Map<string, Promise<Endpoint>>()
  const issue = async (name: string): Promise<Endpoint> => {
    const { certificatePem, keyPem } = await issueCertificate(
      {
        commonName: name,
        purpose: 'client',
        hostnames: [],
        addresses: [],
        notBefore: new Date(Date.now() - day),
        notAfter: new Date(Date.now() + day),
      },
      issuer,
    )
    return {
      socket: { host: '127.0.0.1', port },
      url: `https://localhost:${kms.port}`,
      ca: kms.ca,
      cert: certificatePem,
      key: keyPem,
    }
  }
  return {
    familiesAtOnce: 4,
    as(name) {
      const endpoint = known.get(name) ?? issue(name)
      known.set(name, endpoint)
      return endpoint
    },
    async [Symbol.asyncDispose]() {
      await socket.drain(100)
      await kms[Symbol.asyncDispose]()
    },
  }
}
