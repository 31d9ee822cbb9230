import type { HttpsClient } from '@warder/command-line/https-client'
import { type Installation, startInstallation } from 'warder/testing'
import type { Scenario } from '../scenarios.ts'
import { createAdministrator } from './administrator.ts'
import { awsScenarios } from './aws.ts'
import { azurePool, azureScenarios } from './azure.ts'
import { googleScenarios, googleSettings } from './google.ts'
import { startKeySets } from './key-sets.ts'
import { microsoftScenarios, microsoftSettings } from './microsoft.ts'

/** The clouds, with issuers and a client certificate of their own. */
export interface Clouds {
  /** Settings of a service that serves all four. */
  readonly env: Readonly<Record<string, string>>
  scenarios(warder: Installation, kms: HttpsClient, echoUrl: string): Promise<readonly Scenario[]>
  close(): void
}

/** Starts the issuers, and makes the keys that settings name in the home, which is started for a moment. */
export async function startClouds(home: string): Promise<Clouds> {
  const warder = await startInstallation({ home })
  const kms = warder.client('kms')
  try {
    const administrator = await createAdministrator(warder, kms)
    const keySets = await startKeySets(home)
    const pool = await azurePool(home)
    return {
      env: {
        KMS_PUBLIC_URL: 'https://kms.example.com',
        KMS_OUTBOUND_ALLOW_PRIVATE_NETWORKS: 'true',
        KMS_OUTBOUND_CA_FILE: 'tls/ca.crt',
        KMS_AWS_XKS_ENABLE: 'true',
        ...pool.env,
        ...(await googleSettings(administrator, keySets)),
        ...(await microsoftSettings(administrator, keySets)),
      },
      scenarios: async (of, client, echoUrl) => [
        ...(await awsScenarios(of, client, echoUrl)),
        ...(await googleScenarios(of, client, echoUrl)),
        ...(await microsoftScenarios(of, client, echoUrl)),
        ...(await azureScenarios(of, client, echoUrl, pool)),
      ],
      close: () => keySets.close(),
    }
  } finally {
    kms.close()
    await warder.stop()
  }
}
