import type { AuthServices } from '../services.ts'
import { matchingStep, openTotpSecret, type TotpEnrollment } from '../totp/index.ts'
import { LoginRefused } from './refusal.ts'

/** The step of a code that has not been used. The commit that goes with it has to use the step up. */
export async function proveCode(
  services: Pick<AuthServices, 'seal' | 'now'>,
  enrollment: TotpEnrollment,
  code: string,
): Promise<number> {
  const secret = await openTotpSecret(services.seal, enrollment)
  const step = matchingStep(secret, code, services.now(), enrollment)
  secret.fill(0)
  if (step === undefined || step <= enrollment.lastStep) throw new LoginRefused('wrong_totp_code')
  return step
}
