import type { LoginMethod, SecondProof, SecondProofServices } from '../../login/method.ts'
import { LoginRefused } from '../../login/refusal.ts'
import type { LoginServices } from '../../login/services.ts'
import { matchingStep } from './code.ts'
import { totpOperations } from './operations.ts'
import { totpSettings } from './settings.ts'
import { findTotp, openTotpSecret, type TotpEnrollment, totpRemoval, totpStepUse } from './totp-store.ts'

const wrongCode = () => new LoginRefused('wrong_totp_code', 'code')

/**
 * The code of an enrolled user, required whatever the settings of the realm. Each step is accepted once: the commit
 * marks it as used.
 */
const totpProof: SecondProof = {
  nextStep: 'TotpRequired',
  async asks(services, realm, username) {
    const enrollment = await findTotp(services.db, realm, username)
    if (enrollment === undefined) return undefined
    return async (code) => {
      const step = await findUnusedStep(services, enrollment, code)
      return { holds: totpStepUse(realm, username, step), lost: wrongCode }
    }
  },
  refused: wrongCode,
  removal: totpRemoval,
}

/** Finds the unused step of a code. @throws LoginRefused */
async function findUnusedStep(
  services: SecondProofServices,
  enrollment: TotpEnrollment,
  code: string,
): Promise<number> {
  const secret = await openTotpSecret(services.seal, enrollment)
  const step = matchingStep(secret, code, services.now(), enrollment)
  secret.fill(0)
  if (step === undefined || step <= enrollment.lastStep) throw wrongCode()
  return step
}

/** Second factor: a code of an authenticator app, after the first proof of any other method. */
export const totp: LoginMethod<LoginServices> = {
  name: 'totp',
  settings: totpSettings,
  second: totpProof,
  operations: totpOperations,
}
