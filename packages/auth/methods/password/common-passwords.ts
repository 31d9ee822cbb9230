/**
 * The most common passwords, in lower case; the last line has those of fewer than eight characters. SP 800-63B
 * §3.1.1.2 requires a list. A short one covers the guesses that the throttle allows.
 */
export const commonPasswords: ReadonlySet<string> = new Set(
  `password password1 password12 password123 password1234 password! passw0rd p@ssword p@ssw0rd p@ssword1 p@ssw0rd1
  12345678 123456789 1234567890 0123456789 0987654321 9876543210 987654321 87654321 11111111 00000000 88888888
  66666666 99999999 12341234 11223344 1122334455 12344321 147258369 123123123 123321123 1qaz2wsx 1qaz2wsx3edc
  1q2w3e4r 1q2w3e4r5t q1w2e3r4 q1w2e3r4t5 qwertyui qwertyuiop qwerty12 qwerty123 qwerty1234 qwerty12345 qwe123456
  asdfghjk asdfghjkl asdf1234 asdfasdf zxcvbnm1 zxcvbnm123 qazwsxedc abcd1234 abc12345 abcdefgh abcdefg1 a1234567
  a12345678 a123456789 aa123456 aa12345678 asd123456 iloveyou iloveyou1 iloveyou2 sunshine sunshine1 princess
  princess1 football football1 baseball baseball1 basketball superman superman1 batman123 starwars trustno1 welcome1
  welcome12 welcome123 welcome! letmein1 letmein123 admin123 admin1234 admin12345 administrator administrator1
  changeme changeme1 change_me changeit default1 secret123 secret12 master123 monkey123 dragon123 shadow123
  michael1 jennifer jordan23 computer computer1 internet internet1 whatever charlie1 samsung1 samsung123 google123
  facebook facebook1 liverpool liverpool1 chelsea1 manchester arsenal1 barcelona corvette mercedes ferrari1
  maverick garfield mustang1 midnight password0 test1234 test12345 testtest testing1 testing123 guest123 guest1234
  user1234 root1234 rootroot toor1234 pass1234 pass12345 pass@123 pass@1234 passpass summer2024 summer2025
  summer2026 winter2024 winter2025 winter2026 spring2025 spring2026 autumn2025 autumn2026
  123456 1234567 12345 1234 123123 654321 111111 000000 666666 121212 112233 123321 qwerty qwert azerty asdfgh zxcvbn
  abc123 abcd abcdef a1b2c3 aaaaaa admin admin1 root toor test test1 test123 guest user pass passwd secret default
  letmein welcome login master monkey dragon shadow hello hello1 ninja love iloveu summer winter spring autumn
  mustang michael jordan charlie`
    .split(/\s+/)
    .filter((word) => word !== ''),
)
