import type { KmsContext } from '@warder/command-line/kms'
import { fetchStoreState, showSteps } from 'warder/testing'
import { startMockProviders } from './google-mock-providers.ts'
import { createSelfTest } from './google-self-test-context.ts'
import { testDocuments } from './google-self-test-documents.ts'
import { readSelfTestSettings, withTempInstallation } from './google-self-test-installation.ts'
import { testMail } from './google-self-test-mail.ts'
import { testMigration } from './google-self-test-migration.ts'

/**
 * Tests every operation of Google's clients, administrators and another key service, with tokens of mock providers, on a
 * temporary installation (docs/adr/google-and-microsoft.md). The running service trusts none of these tokens.
 */
export async function selfTestGoogle(context: KmsContext): Promise<number> {
  // Fails early if the caller may not administer external key stores.
  await fetchStoreState(context, 'google')
  const settings = readSelfTestSettings(context)
  const providers = await startMockProviders()
  try {
    const done = await withTempInstallation(context, settings, providers, async (installation) => {
      const selfTest = createSelfTest(installation, providers, settings)
      await testDocuments(selfTest, settings)
      await testMail(selfTest)
      await testMigration(selfTest)
      return selfTest.exchange.done
    })
    if (settings.administrators.length === 0)
      context.note(
        'google_cse_administrators is empty: the steps of administrators used a made-up administrator',
      )
    return showSteps(context, 'google', done)
  } finally {
    await providers.close()
  }
}
