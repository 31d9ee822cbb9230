export { fromBase32, toBase32 } from './base32.ts'
export { codeAt, matchingStep } from './code.ts'
export {
  findTotp,
  openTotpSecret,
  type TotpEnrollment,
  totpEnrollment,
  totpRemoval,
  totpStepUse,
} from './totp-store.ts'
