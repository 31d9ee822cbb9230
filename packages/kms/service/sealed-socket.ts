import { createKmipSocket, createSealedEngine } from '@warder/kmip-server'
import type { ServiceDefinition } from '@warder/runtime'

/** The KMIP port of a sealed service: clients with a certificate receive General Failure, and nothing is audited yet. */
export const createSealedSocket: NonNullable<ServiceDefinition['sealedSocket']> = async ({
  tls,
  clientRevocation,
  clock,
  log,
  metrics,
}) =>
  createKmipSocket({
    engine: createSealedEngine(clock.now),
    // The users of certificates are in the database.
    authenticate: async () => ({ name: 'unknown', method: 'tls_auth' }),
    audit: { record: () => undefined },
    limits: {
      messageBytes: 65_536,
      bufferedBytes: 1_048_576,
      connections: 1_000,
      connectionsPerAddress: 250,
    },
    ...{ tls, clientRevocation, clock, log, metrics },
  })
