import type { Vocabulary } from './vocabulary.ts'

export const vietnamese: Vocabulary = {
  script: 'Latin',
  common: `không|và|có|này|các|được|với|những|nếu|chúng|tôi|xin|chào|cảm|ơn|đã|khi|trong|hoặc|vui|lòng|một|người|đến|bạn|quý
    |của|đừng|trên|hãy|từ`,
  code: `chữ số|mã xác nhận|mã xác thực|mã xác minh|mã otp|mã pin|mã bảo mật|mã an toàn|mã đăng nhập|mã kích hoạt
    |mã truy cập|mã khôi phục|mã đặt lại|mã mở tủ|mã mở|mã nhận hàng|mã nhận|mã lấy hàng|mã kiểm tra|mã một lần
    |mã dùng một lần|mã số xác nhận|mã số bí mật|mã bí mật|mã code|nhập mã|mã này|mã dưới đây|mã bên dưới|mã sau|mã của bạn
    |mã là|mã|dãy số|6 chữ số|6 số|4 chữ số|4 số|chữ số sau|chữ số dưới đây|chữ số bên dưới|các số sau|mật khẩu một lần
    |mật khẩu dùng một lần|mật khẩu tạm thời|mật khẩu kích hoạt|mật khẩu giao dịch|mật mã|otp|code|pin|token`,
  secret: 'mật khẩu',
  authorization: 'mã chuẩn chi|mã cấp phép',
  receipt: 'biên lai|hóa đơn thanh toán',
  sale: `giảm giá|mã giảm giá|khuyến mãi|khuyến mại|mã khuyến mãi|ưu đãi|mã ưu đãi|giới thiệu|quà tặng|voucher|tặng|giảm`,
  other: `đơn hàng|mã đơn|mã đơn hàng|đặt chỗ|mã đặt chỗ|mã đặt phòng|mã đặt vé|vận đơn|mã vận đơn|mã giao dịch
    |mã khách hàng|mã số thuế|mã bưu chính|mã bưu điện|mã sản phẩm|mã vạch|mã qr|mã nguồn|mã lỗi|mã vùng|mã sinh viên
    |mã học viên|mã nhân viên|mã hồ sơ|mã tra cứu|mã số|mã vé|mã hóa đơn|mã chuyến|mã hàng|mã cổ phiếu|mã lớp|mã phòng
    |mã đại lý|mã cửa hàng|mã thành viên|mã hội viên|mã dự thưởng|mã chứng khoán|mã ngân hàng|mã chi nhánh|mã bệnh nhân
    |mã thẻ|mã báo danh|mã công ty|mã môn|mã trường|mã hợp đồng|mã nhóm|mã màu|mã chuyến bay|mã bưu gửi|mã bưu kiện
    |mã gói hàng|mã chứng nhận|mã thoát|mã trả về|mã trạng thái`,
  number: `hóa đơn|đặt vé|tra cứu|theo dõi|tham chiếu|giao dịch|tài khoản|số tài khoản|khách hàng|mst|hợp đồng|số cuối
    |4 số cuối|6 số cuối|đuôi số|điện thoại|đt|sđt|hotline|tổng đài|gọi|phòng|ghế|chuyến bay|chuyến|mẫu|sản phẩm
    |phiên bản|đường|phố|quận|phường|năm|số tiền|tổng cộng|tổng|số dư|điểm|chỉ số|kỳ|số thẻ|số báo danh|tủ số|trang|điều
    |thiết bị|thẻ`,
  neutral: 'số',
  meeting: 'cuộc họp|hội nghị|họp trực tuyến|hội thảo|phòng họp',
  purpose: `xác nhận|xác thực|xác minh|đăng nhập|đăng ký|kích hoạt|hiệu lực|hết hạn|không chia sẻ|không cung cấp|nhập
    |bảo mật|đặt lại mật khẩu|yêu cầu|khôi phục`,
  type: `nhập|điền|gõ|bấm số|sao chép|hãy dùng|dùng|sử dụng|điền vào|nhập vào|gõ vào|viết|dán|dùng số|nhập số`,
  is: 'là|như sau|sau|dưới đây|bên dưới|sau đây|la',
  particle: 'của|cho|bạn|quý|khách|để|vào|tài|khoản|và|quý khách',
  unit: `giây|phút|giờ|ngày|tuần|tháng|năm|đồng|đ|vnd|nghìn|triệu|tỷ|km|kg|người|lần|điểm|ký tự|sản phẩm|khách|vnđ|k`,
  verify: 'xác nhận|xác minh|xác thực|kích hoạt|hoàn tất đăng ký|chấp nhận lời mời',
  signIn: 'đăng nhập|liên kết đăng nhập',
  reset: 'đặt lại|đổi mật khẩu|mật khẩu mới|quên mật khẩu|khôi phục|tạo mật khẩu|thay đổi mật khẩu',
  unsubscribe: `hủy đăng ký|huỷ đăng ký|ngừng nhận|ngưng nhận|bỏ theo dõi|không muốn nhận|tùy chọn email|cài đặt thông báo
    |dừng nhận`,
  here: `đây|tại đây|bấm vào đây|nhấn vào đây|nhấp vào đây|liên kết|liên kết sau|nút|đường dẫn|mở|tiếp tục|bắt đầu|xem`,
}

export const indonesian: Vocabulary = {
  script: 'Latin',
  common: `yang|dan|untuk|tidak|anda|kami|ini|dengan|jika|telah|dari|akun|halo|hai|terima|kasih|salam|jangan|kepada|siapa
    |pun|adalah|atau|oleh|silakan|mohon|kamu|bukan|akan|melakukan|segera|ke|di|pada|sebagai|itu|abaikan|hormat|demi`,
  code: `digit|kode|kodenya|kata sandi sekali pakai|sandi sekali pakai|kata sandi sementara|nomor verifikasi
    |angka verifikasi|enam digit|6 digit|6 angka|enam angka|empat digit|4 digit|4 angka|angka berikut|angka di bawah
    |digit berikut|sandi otp`,
  secret: 'kata sandi|sandi|kunci',
  authorization: 'kode otorisasi|kode persetujuan',
  receipt: 'struk|kuitansi|bukti pembayaran',
  sale: `promo*|diskon*|kupon*|voucher*|hadiah|potongan*|referral|cashback|hemat|penawaran|undangan teman`,
  other: `pos|pesanan|pemesanan|booking|reservasi|pelacakan|resi|pengiriman|faktur|tagihan|pelanggan|produk|barang
    |kesalahan|error|sumber|negara|warna|area|batang|etik|bayar|pembayaran|penerbangan|tiket|kontrak|toko|cabang|bank
    |unik pembayaran|siswa|anggota|billing|paket|sertifikat|sertifikasi|standar|keluar|status|pengembalian`,
  number: `pesanan|nomor|no|no.|referensi|rekening|akun nomor|yang berakhiran|berakhiran|berakhir dengan
    |empat digit terakhir|4 digit terakhir|telepon|telp|hubungi|hp|ponsel|faks|kamar|kursi|penerbangan|kereta|gerbong
    |tiket|model|versi|npwp|nik|transaksi|permintaan|kasus|jalan|jl|tahun|sejak|jumlah|total|saldo|poin|polis|kartu
    |paket|resi|reservasi|faktur|tagihan|struk|pelanggan|anggota|rp|virtual account|pasal|terminal|merchant`,
  neutral: 'nomor|angka|no',
  meeting: 'rapat|pertemuan|konferensi|konferensi video|panggilan video|webinar*',
  purpose: `verifikasi*|memverifikasi|konfirmasi*|mengonfirmasi|masuk|login|autentikasi|otentikasi|sekali pakai|aktivasi
    |mengaktifkan|berlaku|kedaluwarsa|kadaluarsa|jangan bagikan|jangan berikan|jangan beri*|rahasia*|masukkan|memasukkan
    |identitas|keamanan|akses|mendaftar|pendaftaran|dua langkah|dua faktor|atur ulang`,
  type: `masukkan|masukan|memasukkan|ketik|ketikkan|isi|isikan|salin|tempel|gunakan|pakai|input|memakai|menggunakan|ketiklah
    |masukkanlah|tulis|tuliskan|memasukan|isilah|inputkan|menyalin`,
  is: 'adalah|ialah|yaitu|berikut|sebagai berikut|di bawah ini|berikut ini|di bawah',
  particle: 'untuk|anda|kamu|ini|akun|di|ke|dan|yang|sementara|baru|pribadi|verifikasi|masuk',
  unit: `detik|menit|jam|hari|minggu|bulan|tahun|rupiah|ribu|juta|rp|poin|km|kg|kali|orang|pengguna|karakter|buah|pcs|meter
    |persen|anggota`,
  verify: 'verifikasi*|konfirmasi*|aktifkan|aktivasi|selesaikan pendaftaran|terima undangan',
  signIn: 'masuk|login|log in|tautan masuk',
  reset: `atur ulang|setel ulang|reset*|kata sandi baru|ubah kata sandi|ganti kata sandi|lupa kata sandi|pulihkan`,
  unsubscribe: `berhenti berlangganan|batalkan langganan|batal berlangganan|tidak ingin menerima|preferensi email
    |pengaturan notifikasi|kelola langganan`,
  here: 'di sini|disini|klik di sini|klik|tautan ini|tautan|link ini|tombol|lanjutkan|buka|lihat',
}

export const malay: Vocabulary = {
  script: 'Latin',
  common: `yang|dan|untuk|tidak|anda|kami|ini|dengan|jika|telah|daripada|akaun|helo|hai|terima|kasih|salam|jangan|kepada
    |sesiapa|ialah|adalah|atau|oleh|sila|awak|bukan|akan|membuat|segera|ke|di|pada|sebagai|itu|abaikan|hormat|dalam|tuan
    |puan|kerana`,
  code: `digit|kod|kodnya|kata laluan sekali guna|kata laluan sementara|nombor pengesahan|enam digit|6 digit|6 angka
    |empat digit|4 digit|digit berikut|angka berikut|nombor berikut|nombor tac|tac`,
  secret: 'kata laluan|kunci',
  authorization: 'kod kebenaran|kod kelulusan',
  receipt: 'resit|terminal',
  sale: 'promo*|diskaun*|kupon*|baucar*|hadiah|potongan|tawaran|jimat|rebat',
  other: `pos|poskod|pesanan|tempahan|penjejakan|pengesanan|penghantaran|invois|bil|pelanggan|produk|barang|ralat|sumber
    |negara|warna|kawasan|bar|etika|bayaran|penerbangan|tiket|kontrak|kedai|cawangan|bank|pelajar|ahli|bungkusan|sijil
    |pensijilan|standard|keluar|status`,
  number: `pesanan|nombor|no|no.|rujukan|akaun bank|yang berakhir dengan|berakhir dengan|empat digit terakhir
    |4 digit terakhir|telefon|tel|hubungi|faks|bilik|tempat duduk|penerbangan|keretapi|tiket|model|versi|ssm|transaksi
    |permintaan|kes|jalan|jln|tahun|sejak|jumlah|baki|mata|polisi|kad|bungkusan|tempahan|invois|resit|pelanggan|ahli|rm
    |penjejakan|perkara|terminal|peniaga`,
  neutral: 'nombor|no',
  meeting: 'mesyuarat*|persidangan*|panggilan video|webinar*',
  purpose: `pengesahan|sahkan|mengesahkan|log masuk|daftar masuk|sekali guna|aktifkan|pengaktifan|sah|sah selama
    |tamat tempoh|luput|jangan kongsi*|jangan berkongsi|jangan dedahkan|masukkan|memasukkan|identiti|keselamatan|akses
    |mendaftar|pendaftaran|dua langkah|dua faktor|tetapkan semula`,
  type: `masukkan|taip|taipkan|isi|isikan|salin|tampal|gunakan|guna|menggunakan|masukkanlah|tulis|tuliskan|menaip|memasukkan
    |menyalin`,
  is: 'ialah|adalah|iaitu|berikut|seperti berikut|di bawah|seperti di bawah',
  particle: 'untuk|anda|awak|ini|akaun|di|ke|dan|yang|sementara|baru|peribadi|pengesahan|masuk|log',
  unit: `saat|minit|jam|hari|minggu|bulan|tahun|ringgit|rm|sen|mata|km|kg|kali|orang|pengguna|aksara|unit|meter|peratus|ahli`,
  verify: `sahkan|pengesahan|mengesahkan|aktifkan|pengaktifan|lengkapkan pendaftaran|terima jemputan`,
  signIn: 'log masuk|daftar masuk|pautan log masuk',
  reset: `tetapkan semula|set semula|kata laluan baharu|kata laluan baru|tukar kata laluan|lupa kata laluan|pulihkan`,
  unsubscribe: `henti langgan|berhenti melanggan|nyahlanggan|batalkan langganan|tidak mahu menerima|tetapan pemberitahuan`,
  here: 'di sini|klik di sini|klik|pautan ini|pautan|butang|teruskan|buka|lihat',
}

export const filipino: Vocabulary = {
  script: 'Latin',
  common: `ang|ng|mga|sa|na|at|ay|hindi|ito|iyong|mo|para|kung|huwag|salamat|kumusta|kamusta|namin|natin|ikaw|o|po|sinuman
    |kanino|ibahagi|may|kami|inyong|inyo|ni|nang|upang|gamitin|hiniling|lamang|ka|naming|pakilagay|mabuhay`,
  code: `digit|code|kodigo|kowd|pansamantalang password|isang beses na password|anim na digit|6 na digit|apat na digit
    |4 na digit|sumusunod na numero|numerong ito`,
  secret: 'password|susi',
  authorization: '',
  receipt: 'resibo',
  sale: 'promo*|diskwento|kupon*|voucher*|regalo|alok|bawas|makatipid',
  other: `postal|order|booking|tracking|reserbasyon|resibo|customer|produkto|error|bansa|zip|bar|ticket|tiket|flight
    |parcel|sertipiko`,
  number: `order|numero|no|numero ng|reference|account number|nagtatapos sa|huling apat na digit|huling 4 na digit|telepono
    |tumawag|tawagan|kuwarto|upuan|flight|tiket|bersyon|transaksyon|kalye|taon|halaga|kabuuan|balanse|puntos|card|pakete
    |padala|resibo|php`,
  neutral: 'numero|numerong|no',
  meeting: 'pulong|miting|kumperensya|webinar*',
  purpose: `beripika*|i-verify|pag-verify|kumpirma*|i-confirm|mag-log in|pag-log in|mag-sign in|isang beses|mag-e-expire
    |mawawalan ng bisa|huwag ibahagi|huwag ibigay|ilagay|pagkakakilanlan|seguridad|access|magparehistro`,
  type: `ilagay|i-type|i-enter|gamitin|kopyahin|isulat|pakilagay|i-input|itype|gamitin ang|gumamit|kopya`,
  is: 'ay|narito|nasa ibaba|sumusunod|ito',
  particle: 'ang|ng|sa|na|mo|iyong|para|ito|inyong|mag-log|in|at|pansamantalang',
  unit: `segundo|minuto|na minuto|oras|araw|linggo|buwan|taon|piso|pesos|php|puntos|km|kg|beses|tao|karakter`,
  verify: 'i-verify|beripika*|kumpirma*|i-activate|i-confirm',
  signIn: 'mag-log in|mag-sign in|mag-login',
  reset: 'i-reset|bagong password|palitan ang password|nakalimutan',
  unsubscribe: 'mag-unsubscribe|i-unsubscribe|itigil ang|ayaw mo nang makatanggap',
  here: 'dito|i-click dito|mag-click dito|link na ito|link|button|magpatuloy|buksan',
}
