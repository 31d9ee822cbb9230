import type { KmsContext } from '../kms/verb.ts'
import { rehearsalIn } from './google-callers.ts'
import { rehearseDocuments } from './google-documents-rehearsal.ts'
import { rehearseMail } from './google-mail-rehearsal.ts'
import { rehearseMigration } from './google-migration-rehearsal.ts'
import { startGoogleParties } from './google-parties.ts'
import { inRehearsalRoom, rehearsedSettings } from './google-room.ts'
import { showSteps, stateOf } from './store.ts'

/**
 * Plays every operation that Google's clients, its administrators and another key service ask for, each with its own
 * tokens, against a Warder that is thrown away (docs/adr/google-and-microsoft.md). The running service trusts none of
 * these tokens.
 */
export async function rehearseGoogle(context: KmsContext): Promise<number> {
  // Whoever may not look after external key stores is told so.
  await stateOf(context, 'google')
  const settings = rehearsedSettings(context)
  const parties = await startGoogleParties()
  try {
    const done = await inRehearsalRoom(context, settings, parties, async (room) => {
      const rehearsal = rehearsalIn(room, parties, settings)
      await rehearseDocuments(rehearsal, settings)
      await rehearseMail(rehearsal)
      await rehearseMigration(rehearsal)
      return rehearsal.exchange.done
    })
    if (settings.administrators.length === 0)
      context.note(
        'google_cse_administrators is empty: what administrators do was rehearsed with one who is not there',
      )
    return showSteps(context, 'google', done)
  } finally {
    await parties.close()
  }
}
