import { LoginRefused, type SecondProof, type SecondProofServices } from '../../login/index.ts'
import { matchingStep } from './code.ts'
import { findTotp, openTotpSecret, type TotpEnrollment, totpRemoval, totpStepUse } from './totp-store.ts'

const wrongCode = () => new LoginRefused('wrong_totp_code', 'code')

/** A code of users who are enrolled, whatever the realm says. Each step is accepted once: the commit uses it up. */
export const totpProof: SecondProof = {
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

/** The step of a code that has not been used. @throws LoginRefused */
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
